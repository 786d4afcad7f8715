import { HOST_PROBE_PATH } from '../../shared/wire/host-probe.ts'
import type { Question } from '../questions/question.ts'
import type { HostProbes } from './host-probes.ts'

/** Exposes host probes as a question; an answer is one item. */
export const createHostQuestion = (probes: HostProbes): Question => ({
  prefix: HOST_PROBE_PATH,
  async *ask(name, input) {
    yield { type: 'item', value: await probes.ask(name, input) }
  },
})
