/**
 * Decision of an operator about which traces are one thing; it beats all evidence. `together` joins
 * its traces; `apart` keeps each of its traces from those of the other side.
 */
export type IdentityPin =
  | { id: string; kind: 'together'; traces: readonly string[] }
  | { id: string; kind: 'apart'; traces: readonly string[]; others: readonly string[] }

/** Ids of the traces that a pin is about. */
export const listPinTraces = (pin: IdentityPin): readonly string[] =>
  pin.kind === 'together' ? pin.traces : [...pin.traces, ...pin.others]
