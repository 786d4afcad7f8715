import type { SafetyEnvelope, SharedEnvelopes } from '../../shared/wire/safety-envelope.ts'
import { mergeEnvelopes, toSafetyEnvelope } from './merge-envelopes.ts'

/** Merges the limits of several documents to the most restrictive, the fleet's and each site's. */
export const mergeSharedEnvelopes = (documents: readonly SharedEnvelopes[]): SharedEnvelopes => {
  const fleets = documents.flatMap(({ fleet }) => fleet ?? [])
  const names = new Set(documents.flatMap(({ sites = {} }) => Object.keys(sites)))
  const sites = [...names].map(name => [name, merge(documents.flatMap(one => siteOf(one, name)))])
  return {
    ...(fleets.length > 0 && { fleet: merge(fleets) }),
    ...(sites.length > 0 && { sites: Object.fromEntries(sites) }),
  }
}

const siteOf = ({ sites = {} }: SharedEnvelopes, name: string): SafetyEnvelope[] =>
  Object.hasOwn(sites, name) && sites[name] !== undefined ? [sites[name]] : []

const merge = (envelopes: readonly SafetyEnvelope[]): SafetyEnvelope =>
  toSafetyEnvelope(mergeEnvelopes(envelopes.map(envelope => ({ source: 'fleet', envelope }))))
