(singleton_method name: (_) @name) @definition.method
(method name: (_) @name) @definition.method
(class name: (scope_resolution name: (_) @name)) @definition.class
(class name: (constant) @name) @definition.class
(assignment left: (constant) @name) @definition.constant
