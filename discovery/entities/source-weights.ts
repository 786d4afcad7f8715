/** How much a module's word counts, and for how long. */
interface SourceWeight {
  /** Order of sources whose values differ; higher wins. */
  priority: number
  /** Probability that a sighting is right while it is fresh. */
  weight: number
  /** Time after which it counts half, seconds. */
  halfLife_s: number
}

const HOUR = 3600

const DEFAULT: SourceWeight = { priority: 30, weight: 0.5, halfLife_s: 6 * HOUR }

/** Modules that query a device with credentials outweigh those that read banners or radio signals. */
const BY_MODULE: Readonly<Record<string, SourceWeight>> = {
  'snmp-discover': { priority: 90, weight: 0.9, halfLife_s: 24 * HOUR },
  'docker-inventory': { priority: 90, weight: 0.95, halfLife_s: HOUR },
  'k8s-discover': { priority: 90, weight: 0.95, halfLife_s: HOUR },
  'cloud-discover': { priority: 85, weight: 0.95, halfLife_s: 6 * HOUR },
  'runtime-discover': { priority: 80, weight: 0.9, halfLife_s: HOUR },
  'llm-api-discover': { priority: 75, weight: 0.85, halfLife_s: HOUR },
  'mdns-scan': { priority: 70, weight: 0.8, halfLife_s: 75 * 60 },
  'http-fingerprint': { priority: 55, weight: 0.7, halfLife_s: 6 * HOUR },
  'tls-cert-check': { priority: 50, weight: 0.7, halfLife_s: 24 * HOUR },
  'network-map': { priority: 40, weight: 0.7, halfLife_s: HOUR },
  'ble-scan': { priority: 35, weight: 0.5, halfLife_s: 300 },
  'wifi-scan': { priority: 35, weight: 0.6, halfLife_s: 600 },
}

export const weightOf = (module: string): SourceWeight => BY_MODULE[module] ?? DEFAULT

/** A sighting's time, and how long it holds by its own word. */
interface TimedSource {
  module: string
  /** Unix milliseconds. */
  at: number
  ttl_s?: number | undefined
}

/** Share of its weight that a sighting still has: 1 when fresh, 0.5 after its half-life. */
export const freshnessOf = ({ module, at, ttl_s }: TimedSource, now: number): number =>
  0.5 ** (Math.max(0, now - at) / 1000 / (ttl_s ?? weightOf(module).halfLife_s))

/**
 * Probability that a thing is there: that not every source is wrong. Several sightings of one module
 * are one source, of which the freshest counts.
 */
export const confidenceOf = (sources: readonly TimedSource[], now: number): number => {
  const best = new Map<string, number>()
  for (const source of sources) {
    const weight = weightOf(source.module).weight * freshnessOf(source, now)
    best.set(source.module, Math.max(best.get(source.module) ?? 0, weight))
  }
  const wrong = [...best.values()].reduce((product, weight) => product * (1 - weight), 1)
  return Math.round((1 - wrong) * 1000) / 1000
}
