(method_definition name: [(property_identifier) (private_property_identifier) (string) (number)] @name) @definition.method

(generator_function_declaration name: (identifier) @name) @definition.function

(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function

(variable_declarator name: (identifier) @name value: (class)) @definition.class

(assignment_expression
  left: [(identifier) @name (member_expression property: [(property_identifier) (private_property_identifier)] @name)]
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.function

(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: (class)) @definition.class

(pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function

(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))

(program (expression_statement (assignment_expression
  left: (member_expression property: (property_identifier) @name)) @definition.variable))
(assignment_expression left: (member_expression property: (property_identifier) @name) right: (object)) @definition.variable
