import { createHmac } from 'node:crypto'
import { defineHostProbe } from '../../probe.ts'

/**
 * Hashes an id, so that a machine can be recognised without revealing its id: machine-id(5)
 * requires that for an id that leaves its machine.
 */
const digest = (id: unknown): string | null =>
  typeof id === 'string' && id !== ''
    ? createHmac('sha256', id).update('shoal host probe').digest('hex').slice(0, 32)
    : null

export default defineHostProbe({
  id: 'uuid',
  call: 'uuid',
  description:
    'Digests of the ids of the operating system and the hardware, and the hardware addresses of the network.',
  shape: 'object',
  emptyReason: 'this machine has no ids',
  arrange: answer => ({ ...answer, os: digest(answer.os), hardware: digest(answer.hardware) }),
})
