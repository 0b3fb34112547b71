"""The machinery below the formulas: compilation, records, work space."""
