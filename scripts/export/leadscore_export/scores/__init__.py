"""Out-of-fold scores of the training rows, and the calibration and figures fitted to them."""
