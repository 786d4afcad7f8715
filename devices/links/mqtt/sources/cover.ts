/** Motion of a cover; `moving` where the direction is unknown. */
export type Motion = 'opening' | 'closing' | 'moving' | 'stopped'

export interface CoverFacts {
  /** 100 is open; undefined where it is unknown. */
  positionPercent?: number | undefined
  /** Undefined where the cover does not report it. */
  motion?: Motion | undefined
  /** Place as the cover itself names it. */
  place?: 'open' | 'closed' | undefined
}

/** Readings of a cover. */
export const describeCover = ({
  positionPercent,
  motion,
  place,
}: CoverFacts): Readonly<Record<string, unknown>> => ({
  position_percent: positionPercent,
  moving: motion === undefined ? undefined : motion !== 'stopped',
  cover_state: nameState({ positionPercent, motion, place }),
})

const nameState = ({ positionPercent, motion, place }: CoverFacts): string | undefined => {
  if (motion !== undefined && motion !== 'stopped') return motion
  if (positionPercent === 0) return 'closed'
  if (positionPercent === 100) return 'open'
  if (positionPercent === undefined) return place ?? motion
  return motion ?? 'partly_open'
}
