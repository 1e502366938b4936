"""`jsdoctor preflight`: whether servers can be taken down now."""
