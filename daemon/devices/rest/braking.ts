import type { EstopBehaviour } from '../../../shared/wire/device.ts'

/** A flying vehicle brakes where it is: the ground below is not known to be free. */
export const brakingOf = (atEstop: EstopBehaviour): EstopBehaviour =>
  atEstop === 'land' ? 'hold' : atEstop

/** Order of an urgent verb, as the links know it. */
export const behaviourOf = (verb: string, atEstop: EstopBehaviour): EstopBehaviour => {
  if (verb === 'land') return 'land'
  return verb === 'stop' ? brakingOf(atEstop) : 'hold'
}
