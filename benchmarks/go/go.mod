module clientgo/benchmarks

go 1.26.0

require (
	k8s.io/apimachinery v0.36.1
	k8s.io/client-go v0.36.1
)
