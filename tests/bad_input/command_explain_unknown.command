explain hmb
