"""The local platform: an emulator that runs the functions of template.yaml on one machine."""
