/** What a caller may have said; the patterns of `shared/probes/parameters.ts` hold for all of it. */
export interface ProbeInput {
  names?: string[]
  interfaces?: string[]
  apps?: string[]
  all?: boolean
  container?: string
  url?: string
  host?: string
}

const EVERY = '*'

const TABLE: Record<string, (input: ProbeInput) => unknown[]> = {
  versions: ({ apps }) => [apps?.join(',') ?? EVERY],
  services: ({ names }) => [names?.join(',') ?? EVERY],
  'process-load': ({ names = [] }) => [names.join(',')],
  'network-stats': ({ interfaces }) => (interfaces === undefined ? [] : [interfaces.join(',')]),
  'docker-images': ({ all }) => [all === true],
  'docker-containers': ({ all }) => [all === true],
  'docker-container-stats': ({ container }) => [container ?? EVERY],
  'docker-container-processes': ({ container }) => [container ?? EVERY],
  'inet-checksite': ({ url }) => [url],
  'inet-latency': ({ host }) => [host],
}

/** The arguments of the library's function. */
export const argumentsOf = (probeId: string, input: ProbeInput): unknown[] =>
  TABLE[probeId]?.(input) ?? []
