import spoiler
def run():
    import main
    spoiler.Spoiler.spoil(main)
