"""Programs that write a pmap in every way there is, generated from the dimensions along which such ways differ."""
