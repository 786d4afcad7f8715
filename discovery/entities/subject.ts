import type { KeyKind, ServiceFact, SightingFacts } from '../sighting.ts'

/** What rules of types and risks decide by. */
export interface RuleSubject {
  facts: SightingFacts
  keyKinds: ReadonlySet<KeyKind>
  /** Maker by the address of an interface, in lower case; empty when unknown. */
  vendor: string
  /** Time since the thing was first seen, milliseconds; undefined for one that is a cell. */
  age_ms: number | undefined
  /** Unix milliseconds. */
  now: number
}

/** The first service that fits, as evidence for people: `ssh at port 22`. */
export const findService = (
  { facts }: RuleSubject,
  fits: (service: ServiceFact) => boolean,
): string | undefined => {
  const service = facts.services?.find(fits)
  return service && `${service.name || service.transport} at port ${service.port}`
}

/** The first text of a thing that matches, as evidence. */
export const findText = ({ facts, vendor }: RuleSubject, pattern: RegExp): string | undefined => {
  const { claimed_types = [], name, hostname, model, os, description } = facts
  const texts = [...claimed_types, model, os, description, name, hostname, facts.vendor, vendor]
  return texts.find(text => text !== undefined && pattern.test(text.toLowerCase()))
}
