import type { ErrorCode } from './errors.ts'

interface ReasonFacts {
  code: ErrorCode
  /** Meaning, for docs/api.md. */
  about: string
  /** Advice for a person; `next` follows it. Absent where the message is sufficient. */
  advice?: string
}

const USE_ONCE = 'an approval can be used once, before it expires: request another one'

/** Reasons that the body of an error can state beside its code. */
const table = {
  role_required: {
    code: 'forbidden',
    about: 'the key has none of the roles that the call needs',
    advice: 'use a key with one of these roles; an operator can issue one',
  },
  approval_pending: {
    code: 'forbidden',
    about: 'the request is not decided yet',
    advice: 'it waits for approval; another person approves it with',
  },
  approval_used: { code: 'forbidden', about: 'the approval was used', advice: USE_ONCE },
  approval_expired: { code: 'forbidden', about: 'the request has expired', advice: USE_ONCE },
  approval_superseded: {
    code: 'forbidden',
    about: 'a newer request replaced this one',
    advice: USE_ONCE,
  },
  approval_withdrawn: {
    code: 'forbidden',
    about: 'the requester withdrew the request',
    advice: USE_ONCE,
  },
  approval_rejected: { code: 'forbidden', about: 'an approver rejected the request' },
  approval_other_plan: {
    code: 'forbidden',
    about: 'the plan differs from the approved one',
    advice: 'send the plan as it was approved, or ask for approval of this one',
  },
  key_revealed: {
    code: 'forbidden',
    about: 'the secret of the key was revealed before',
    advice: 'the key was already shown; it cannot be shown again',
  },
  model_not_served: { code: 'cell_unavailable', about: 'no ready cell serves the model' },
  egress_off: {
    code: 'upstream_unavailable',
    about: 'the configuration permits no calls to outside sources',
    advice: 'list the outside sources that the coordinator may ask with',
  },
  discovery_scope: {
    code: 'scope_denied',
    about: 'the target is outside the scope of discovery',
  },
  public_network: {
    code: 'invalid_request',
    about: 'the network has public addresses',
    advice: 'if it is yours, add it with',
  },
  site_broker: {
    code: 'broker_unavailable',
    about: 'a cell cannot reach an MQTT broker of its site',
    advice: 'check that this broker runs at this address; list the configured ones with',
  },
  estop_holds: {
    code: 'conflict',
    about: 'an e-stop holds the device',
    advice: 'shoal devices estops lists the stops; a person releases this one with',
  },
  name_unknown: {
    code: 'not_found',
    about: 'nothing of this kind has the given name or id',
    advice: 'list the existing ones with',
  },
  model_unknown: {
    code: 'model_not_found',
    about: 'no model has the given id',
    advice: 'list the available models with',
  },
  name_ambiguous: {
    code: 'conflict',
    about: 'several objects have the given name',
    advice: 'list their names and ids with',
  },
  device_ambiguous: {
    code: 'conflict',
    about: 'several devices have the given name',
    advice: 'list their names and ids with',
  },
  model_exists: { code: 'conflict', about: 'a model or an alias has this id' },
} as const satisfies Record<string, ReasonFacts>

export type ErrorReason = keyof typeof table

export const ERROR_REASONS: Readonly<Record<ErrorReason, ReasonFacts>> = table
export const errorReasons = Object.keys(table) as ErrorReason[]
export const isErrorReason = (reason: unknown): reason is ErrorReason =>
  typeof reason === 'string' && Object.hasOwn(table, reason)
