import { KEY_KINDS } from '../sighting.ts'
import { addMoment, distanceToSpans, isOverlapping, SAME_TIME_MS } from './spans.ts'
import { formatKey, isBare, isContained, isContestable, isInterface, type Trace } from './trace.ts'

/**
 * What the times of two traces say about them, kept because the times themselves are not: `met` at
 * one address at the same time; `clash`, the same strong key alive at two sites; or `rival`, the same
 * at two addresses of one site, one seen before and after the other or in one scan.
 */
export interface Link {
  /** The smaller id. */
  a: string
  b: string
  kind: 'met' | 'clash' | 'rival'
  /** Shortest time between two sightings of the pair, in whole seconds. */
  distanceS: number
  /**
   * Latest time at which it held, Unix milliseconds, in steps of 15 minutes; 0 unless one of the two
   * is an address alone, which has one holder after the other.
   */
  at: number
}

/** Compares a trace that was just seen with another one. */
export const linkAt = (seen: Trace, other: Trace, at: number): Link | undefined => {
  const distance = distanceToSpans(other.spans, at)
  if (distance > SAME_TIME_MS) return undefined
  const kind = kindOfLink(seen, other, at)
  if (kind === undefined) return undefined
  const [a, b] = [seen.id, other.id].toSorted() as [string, string]
  if (kind === 'rival') return { a, b, kind, distanceS: 0, at: 0 }
  const latest = isBare(seen) || isBare(other) ? at - (at % SAME_TIME_MS) : 0
  return { a, b, kind, distanceS: Math.floor(distance / 1000), at: latest }
}

/** Joins what two moments say about one pair. */
export const joinLinks = (old: Link, next: Link): Link => ({
  ...old,
  distanceS: Math.min(old.distanceS, next.distanceS),
  at: Math.max(old.at, next.at),
})

export const linkId = ({ a, b }: Pick<Link, 'a' | 'b'>): string => `${a} ${b}`

const kindOfLink = (seen: Trace, other: Trace, at: number): Link['kind'] | undefined => {
  const isAtOneAddress = sharesKey(seen, other, key => key.startsWith('ip='))
  if (seen.site === other.site) {
    if (isContained(seen) || isContained(other)) return undefined
    if (isAtOneAddress) return 'met'
    return isRival(seen, other, at) ? 'rival' : undefined
  }
  // two sites may reach one address over a route; it is then one place
  if (seen.site === '' || other.site === '' || isAtOneAddress) return undefined
  return sharesKey(seen, other, isStrongKey) ? 'clash' : undefined
}

const isRival = (seen: Trace, other: Trace, at: number): boolean => {
  const contestable = new Set(seen.keys.filter(({ kind }) => isContestable(kind)).map(formatKey))
  return (
    hasAddress(seen) &&
    hasAddress(other) &&
    sharesKey(seen, other, key => contestable.has(key)) &&
    isOverlapping(addMoment(seen.spans, at), other.spans)
  )
}

const hasAddress = ({ keys }: Trace): boolean =>
  keys.some(({ kind }) => kind === 'ip' || isInterface(kind))

const isStrongKey = (key: string): boolean =>
  KEY_KINDS[key.slice(0, key.indexOf('=')) as keyof typeof KEY_KINDS] === 'strong'

const sharesKey = (one: Trace, other: Trace, fits: (key: string) => boolean): boolean => {
  const keys = new Set(other.keys.map(formatKey).filter(fits))
  return one.keys.some(key => keys.has(formatKey(key)))
}
