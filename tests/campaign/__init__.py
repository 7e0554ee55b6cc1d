"""The false-green campaign: thousands of generated runs against a plain model of the promise."""
