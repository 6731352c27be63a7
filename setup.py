"""Lists the packages, which pyproject.toml cannot: a rule is a folder in rules/ and needs no line anywhere else."""

from setuptools import find_packages, setup

RULES = ["jaxmigrate.rules", *(f"jaxmigrate.rules.{name}" for name in find_packages("rules"))]

setup(packages=[*find_packages(include=["jaxmigrate", "jaxmigrate.*"]), *RULES])
