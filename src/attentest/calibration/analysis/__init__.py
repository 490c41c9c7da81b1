"""What the records of the calibration say: of every test how well it tells, and of the verdict how often it errs."""
