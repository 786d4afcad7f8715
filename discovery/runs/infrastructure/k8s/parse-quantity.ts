const DECIMAL: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
}
const BINARY: Readonly<Record<string, number>> = {
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
}

/**
 * Number of a quantity such as `250m`, `65611280Ki` or `12e6`; undefined for another text
 * (Kubernetes API reference, "Quantity").
 */
export const parseQuantity = (text: string): number | undefined => {
  const [, digits, suffix = ''] =
    /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,3})?$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const factor = DECIMAL[suffix] ?? BINARY[suffix] ?? 10 ** Number(suffix.slice(1))
  return Number(digits) * factor
}

/** Whole units of a quantity, 0 for what is not one: half a core counts as one. */
export const countUnits = (text: string | undefined): number =>
  Math.max(0, Math.ceil(parseQuantity(text ?? '') ?? 0))
