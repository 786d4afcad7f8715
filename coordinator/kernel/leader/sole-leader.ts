import { createNotLeaderError, type Leader } from './leader.ts'

/** Leader of a store that one process has for itself: leads from its start to its close. */
export const createSoleLeader = (): Leader => {
  let isOpen = true
  return {
    isLeader: () => isOpen,
    requireLeader: async () => {
      if (!isOpen) throw createNotLeaderError()
    },
    close: async () => {
      isOpen = false
    },
  }
}
