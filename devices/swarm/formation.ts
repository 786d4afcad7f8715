import * as z from 'zod'

export const Formation = z.enum(['line', 'circle', 'grid', 'v_shape'])
export type Formation = z.infer<typeof Formation>

/** Point of a plane, in metres. */
export interface Point {
  x: number
  y: number
}

/** Place of a formation in the local frame: its centre, and the direction of its own x axis. */
export interface Anchor extends Point {
  heading_degrees: number
}

type Layout = (count: number, spacing: number) => Point[]

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

const line: Layout = (count, spacing) =>
  range(count).map(index => ({ x: (index - (count - 1) / 2) * spacing, y: 0 }))

/** Neighbours on the circle are the spacing apart: radius `s / (2 sin(π / n))`. */
const circle: Layout = (count, spacing) => {
  if (count === 1) return [{ x: 0, y: 0 }]
  const radius = spacing / (2 * Math.sin(Math.PI / count))
  return range(count).map(index => {
    const angle = (2 * Math.PI * index) / count
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) }
  })
}

/** Rows of `⌈√n⌉`; the last one is centred. */
const grid: Layout = (count, spacing) => {
  const columns = Math.ceil(Math.sqrt(count))
  const rows = Math.ceil(count / columns)
  return range(count).map(index => {
    const row = Math.floor(index / columns)
    const inRow = row === rows - 1 ? count - row * columns : columns
    return {
      x: ((index % columns) - (inRow - 1) / 2) * spacing,
      y: ((rows - 1) / 2 - row) * spacing,
    }
  })
}

/** The first slot leads; the wings trail behind it at 45° to the x axis. */
const vShape: Layout = (count, spacing) => {
  const step = spacing * Math.SQRT1_2
  return range(count).map(index => {
    const rank = Math.ceil(index / 2)
    return { x: -rank * step, y: (index % 2 === 0 ? -1 : 1) * rank * step }
  })
}

const LAYOUTS: Readonly<Record<Formation, Layout>> = { line, circle, grid, v_shape: vShape }

/**
 * Slots of a formation with the centroid at its anchor. The least distance of two slots is the
 * spacing.
 */
export const createSlots = (
  formation: Formation,
  count: number,
  spacing_m: number,
  anchor: Anchor,
): Point[] => {
  const slots = LAYOUTS[formation](count, spacing_m)
  const centre = centroidOf(slots)
  const angle = (anchor.heading_degrees * Math.PI) / 180
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  return slots.map(({ x, y }) => {
    const [dx, dy] = [x - centre.x, y - centre.y]
    return { x: anchor.x + dx * cos - dy * sin, y: anchor.y + dx * sin + dy * cos }
  })
}

export const centroidOf = (points: readonly Point[]): Point => ({
  x: points.reduce((sum, { x }) => sum + x, 0) / Math.max(1, points.length),
  y: points.reduce((sum, { y }) => sum + y, 0) / Math.max(1, points.length),
})
