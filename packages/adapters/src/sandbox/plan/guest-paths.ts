/** Where the sandbox's own things are inside, read-only. */
export const GUEST = {
  folder: "/run/sallyport",
  launcher: "/run/sallyport/launcher",
  filter: "/run/sallyport/filter.bpf",
  /** The same for kernels on which nobody can listen. */
  quietFilter: "/run/sallyport/quiet.bpf",
  socket: "/run/sallyport/egress.sock",
  certificate: "/run/sallyport/ca.pem",
} as const;
