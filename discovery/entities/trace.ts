import { KEY_KINDS, type KeyKind, type SightingKey } from '../sighting.ts'
import { formatMac, type NormalisedKey, normaliseKey } from './normalise-key.ts'
import type { Observation } from './observation.ts'
import type { Pseudonyms } from './pseudonyms.ts'
import { rejectMac } from './rejected-keys.ts'
import type { Span } from './spans.ts'

/**
 * Sightings with the same keys at the same site: the smallest part of an entity, which merges and
 * splits move as a whole. Its id follows from what it holds, so that each coordinator finds the same.
 */
export interface Trace {
  id: string
  site: string
  /** Canonical and sorted. */
  keys: readonly SightingKey[]
  /** Names by which the host calls itself, the newest first; they change and are no keys. */
  hostnames: readonly string[]
  spans: readonly Span[]
  /** First time that the trace was recorded, Unix milliseconds; it never changes. */
  bornAt: number
  /** Cell that saw it first; empty for modules that run on the coordinator. */
  bornBy: string
  /** True when a virtual router answered: its address belongs to no machine. */
  isShared: boolean
  /** Entity that it belongs to; undefined until it was assigned to one. */
  entityId: string | undefined
  /** Id of the entity that exists while this is the oldest trace of its group. */
  foundedId: string
}

/** Kinds of which a thing has one: two values are two things. */
const EXCLUSIVE: ReadonlySet<KeyKind> = new Set([
  'shoal_cell',
  'serial',
  'snmp_engine_id',
  'container_id',
  'kubernetes_uid',
  'cloud_instance_id',
])

/** Kinds that are unique within a site, because switches deliver by them (IEEE 802.1Q, 8.8). */
const INTERFACE: ReadonlySet<KeyKind> = new Set(['mac', 'private_mac'])

/** Kinds of strong keys that a host can announce without owning them, or that a copied disk carries. */
const CONTESTABLE: ReadonlySet<KeyKind> = new Set([
  'serial',
  'snmp_engine_id',
  'mdns_id',
  'home_assistant_id',
  'tls_spki',
  'ssh_host_key',
])

/** Kinds of things that run inside of others and have the address of these. */
const CONTAINED: ReadonlySet<KeyKind> = new Set(['container_id', 'kubernetes_uid'])

export const isExclusive = (kind: KeyKind): boolean => EXCLUSIVE.has(kind)
export const isContestable = (kind: KeyKind): boolean => CONTESTABLE.has(kind)
export const isInterface = (kind: KeyKind): boolean => INTERFACE.has(kind)
/** Other strong keys: files of a system, which go where its image goes. */
export const isSharedByCopies = (kind: KeyKind): boolean =>
  KEY_KINDS[kind] === 'strong' && !isExclusive(kind)
export const isContained = (trace: Trace): boolean =>
  trace.keys.some(({ kind }) => CONTAINED.has(kind))
export const isBare = (trace: Trace): boolean =>
  trace.keys.every(({ kind }) => KEY_KINDS[kind] === 'weak')

export const formatKey = ({ kind, value }: SightingKey): string => `${kind}=${value}`

/** Hashes what identifies a trace, with a key: an id must not give away the addresses in it. */
export type TraceHash = Pick<Pseudonyms, 'hashTrace'>

/** Makes the trace of an observation; undefined when nothing in it identifies anything. */
export const traceOf = (
  observation: Observation,
  bornAt: number,
  hashes: TraceHash,
): Trace | undefined => {
  const normalised = observation.sighting.keys.map(normaliseKey)
  const keys = identityOf(dropContradictions(normalised.flatMap(({ key }) => (key ? [key] : []))))
  if (keys.length === 0) return undefined
  const isShared =
    normalised.some(({ rejected }) => rejected === 'virtual_router') ||
    hasVirtualRouter(observation)
  const { site } = observation
  const id = hashes.hashTrace(JSON.stringify([site, isShared, keys.map(formatKey)]))
  return {
    id,
    site,
    keys,
    hostnames: listHostnames(normalised),
    spans: [],
    bornAt,
    bornBy: observation.cellId ?? '',
    isShared,
    entityId: undefined,
    foundedId: `ent_${id}`,
  }
}

/** A sighting with two serial numbers is about two things; neither number identifies one. */
const dropContradictions = (keys: readonly SightingKey[]): SightingKey[] => {
  const unique = [...new Map(keys.map(key => [formatKey(key), key])).values()]
  const count = (kind: KeyKind): number => unique.filter(key => key.kind === kind).length
  return unique
    .filter(({ kind }) => !isExclusive(kind) || count(kind) === 1)
    .toSorted((a, b) => (formatKey(a) < formatKey(b) ? -1 : 1))
}

const MAX_HOSTNAMES = 4

const listHostnames = (keys: readonly NormalisedKey[]): string[] =>
  addHostnames(
    keys.flatMap(({ key }) => (key?.kind === 'name' ? [key.value] : [])),
    [],
  )

export const addHostnames = (newer: readonly string[], older: readonly string[]): string[] =>
  [...new Set([...newer, ...older])].slice(0, MAX_HOSTNAMES)

/** Names are left out where anything else identifies the trace: they change, and many share them. */
const identityOf = (keys: readonly SightingKey[]): readonly SightingKey[] => {
  const better = keys.filter(({ kind }) => kind !== 'name')
  return better.length > 0 ? better : keys
}

/** Modules that leave out the address of a virtual router as a key still report it as a fact. */
const hasVirtualRouter = ({ sighting }: Observation): boolean =>
  (sighting.facts.mac_addresses ?? []).some(mac => {
    const address = formatMac(mac)
    return address !== undefined && rejectMac(address) === 'virtual_router'
  })
