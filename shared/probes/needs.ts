/** What a probe needs of a machine with Linux; the helper checks it before it calls the library. */
export type Need =
  /** One of these programs, somewhere in PATH. */
  | { kind: 'program'; names: readonly string[] }
  /** A device of a class of the kernel, which lists them in `/sys/class` (sysfs(5)). */
  | { kind: 'device'; kernelClass: string; otherwise: string }
  | { kind: 'wifi' }
  | { kind: 'docker' }
  /** The network interfaces that the input names. */
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
