module example-worker

go 1.24
