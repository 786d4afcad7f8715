import type { LlamaModel } from 'node-llama-cpp'
import type { ChatOrder, JobEvent } from '../protocol.ts'
import type { CallShape } from '../tool-syntax.ts'
import type { PromptPace } from './prompt-pace.ts'
import type { Slot } from './slot.ts'

export type Emit = (event: JobEvent) => void

/** One request in the slot that answers it. */
export interface Generation {
  model: LlamaModel
  slot: Slot
  /** Tokens of the prompt that the slot's cache holds already. */
  prefix: number
  prompt: readonly number[]
  /** Form of calls in the answer; absent where no template was rendered. */
  callShape?: CallShape | undefined
  pace: PromptPace
  order: ChatOrder
  emit: Emit
  isCancelled: () => boolean
}
