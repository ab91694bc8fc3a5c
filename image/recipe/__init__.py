"""The recipe of the data-science image, one module per part; image/build puts them in order."""
