import jax
from jax.sharding import Mesh

MESH = Mesh(jax.devices(), ("data",))  # JM505


def main():
    jax.distributed.initialize("localhost:12345", num_processes=1, process_id=0)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        print(f"RuntimeError: {error}")
