import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { GateDefinition } from './definition.ts'

/** Hash of a definition: a request is decided by the rules under which it was made. */
export const policyHash = (definition: GateDefinition): string =>
  hash('sha256', canonicalJson(definition))

/**
 * Reason why a request can never pass, with any approvers; undefined while its gate is unchanged.
 */
export const rulesFault = (
  { gateId, policyHash: asked }: Pick<GateRequest, 'gateId' | 'policyHash'>,
  definition: GateDefinition | undefined,
): string | undefined => {
  if (definition === undefined) return `there is no ${gateId} any more; withdraw the request`
  if (policyHash(definition) === asked) return undefined
  return `the rules of ${gateId} have changed since; withdraw the request and ask again`
}
