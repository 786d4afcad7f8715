/** Requirement of a probe on a Linux machine; the helper checks it before it calls the library. */
export type Need =
  /** One or more of these programs must be in PATH. */
  | { kind: 'program'; names: readonly string[] }
  /** A device of this kernel class exists; the kernel lists them in `/sys/class` (sysfs(5)). */
  | { kind: 'device'; kernelClass: string; otherwise: string }
  | { kind: 'wifi' }
  | { kind: 'docker' }
  /** The network interfaces named in the input exist. */
  | { kind: 'interfaces' }

export const program = (...names: string[]): Need => ({ kind: 'program', names })

export const device = (kernelClass: string, otherwise: string): Need => ({
  kind: 'device',
  kernelClass,
  otherwise,
})

export const WIFI: Need = { kind: 'wifi' }
export const DOCKER: Need = { kind: 'docker' }
export const INTERFACES: Need = { kind: 'interfaces' }
