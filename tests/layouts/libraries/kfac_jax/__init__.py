"""What programs take of kfac_jax beside its optimizer."""

from . import utils

__all__ = ["utils"]
