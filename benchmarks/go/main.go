// Watch Foos with client-go until so many events were handled: peer FORM SERVER COUNT.
//
// FORM is "typed" or "dynamic", SERVER a URL or the absolute path of a kubeconfig. It prints what benchmarks/peers.py prints: seconds (from before
// anything is connected), seconds of processor time and the most memory, as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	group = schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	// What the informers of clientgo have in the same measurement.
	indexers = cache.Indexers{"namespace": cache.MetaNamespaceIndexFunc, "app": byApp}
)

type fooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int32  `json:"replicas"`
	Note           string `json:"note"`
}

type fooStatus struct {
	AvailableReplicas int32 `json:"availableReplicas"`
}

// Foo is the kind that the recorded server has.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              fooSpec   `json:"spec"`
	Status            fooStatus `json:"status"`
}

// DeepCopyObject makes a Foo a runtime.Object.
func (in *Foo) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// FooList is a list of them.
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Foo `json:"items"`
}

// DeepCopyObject makes a FooList a runtime.Object.
func (in *FooList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]Foo, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Foo)
	}
	return &out
}

func byApp(obj any) ([]string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return []string{accessor.GetLabels()["app"]}, nil
}

func typed(config rest.Config) (cache.SharedIndexInformer, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(group, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, group)
	config.GroupVersion = &group
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(&config)
	if err != nil {
		return nil, err
	}
	source := cache.NewListWatchFromClient(client, "foos", metav1.NamespaceAll, fields.Everything())
	return cache.NewSharedIndexInformer(source, &Foo{}, 0, indexers), nil
}

func untyped(config rest.Config) (cache.SharedIndexInformer, error) {
	client, err := dynamic.NewForConfig(&config)
	if err != nil {
		return nil, err
	}
	resource := group.WithResource("foos")
	informer := dynamicinformer.NewFilteredDynamicInformer(
		client, resource, metav1.NamespaceAll, 0, indexers, nil)
	return informer.Informer(), nil
}

func run(form, url string, count int64) error {
	// The recorded server has its offers below the first segment of a path.
	started := time.Now()
	config := rest.Config{Host: url}
	if strings.HasPrefix(url, "/") {
		read, err := clientcmd.BuildConfigFromFlags("", url)
		if err != nil {
			return err
		}
		config = *read
	}
	config.APIPath, config.QPS = "/apis", -1
	build := untyped
	if form == "typed" {
		build = typed
	}
	informer, err := build(config)
	if err != nil {
		return err
	}
	var handled atomic.Int64
	done := make(chan struct{})
	handle := func() {
		if handled.Add(1) == count {
			close(done)
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { handle() },
		UpdateFunc: func(any, any) { handle() },
	})
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go informer.Run(stop)
	<-done
	seconds := time.Since(started).Seconds()
	close(stop)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"seconds": seconds, "cpu": cpu, "megabytes": mostMemory(),
	})
}

func mostMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		if found := strings.Fields(line); len(found) > 1 && found[0] == "VmHWM:" {
			kilobytes, _ := strconv.ParseFloat(found[1], 64)
			return kilobytes / 1024
		}
	}
	return 0
}

func main() {
	count, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err == nil {
		err = run(os.Args[1], os.Args[2], count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
