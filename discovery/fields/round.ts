export const round = (value: number, decimals: number): number =>
  Math.round(value * 10 ** decimals) / 10 ** decimals

/** Keeps what is absent. */
export const roundOrNull = (value: number | null | undefined, decimals: number): number | null =>
  value === null || value === undefined ? null : round(value, decimals)
