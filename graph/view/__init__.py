"""Looking at a run: what its events, checkpoints and results tell, drawn without network or dependency."""
