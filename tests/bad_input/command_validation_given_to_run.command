run validate_literal.yaml
