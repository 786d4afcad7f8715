/** Failures of a request that are the cell's fault, as far as one attempt can tell. */
export const FAULTS = [
  'reset',
  'no_first_byte',
  'stalled',
  'engine_failed',
  'bad_answer',
  'link_lost',
] as const

/**
 * Way in which an attempt failed by the cell's fault: the cell cut its answer (`reset`), did not
 * begin one in time (`no_first_byte`), fell silent within one (`stalled`), ended one with an error
 * (`engine_failed`), sent one that a daemon does not send (`bad_answer`), or lost its link
 * (`link_lost`).
 */
export type Fault = (typeof FAULTS)[number]

/** True for a failure that its client has waited for. */
export const isSilence = (fault: Fault): boolean => fault === 'no_first_byte' || fault === 'stalled'
