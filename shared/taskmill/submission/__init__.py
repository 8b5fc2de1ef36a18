"""How a request becomes a task: read, checked, admitted, published."""
