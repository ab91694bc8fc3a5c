"""Tools in the loops and frameworks that people use. Each module wants only the package that it is named after."""
