import { checkTheFleet } from './check-the-fleet.ts'
import { freeGpuMemory } from './free-gpu-memory.ts'
import type { OperatorPrompt } from './prompt.ts'
import { reviewARequest } from './review-a-request.ts'

export const prompts: readonly OperatorPrompt[] = [checkTheFleet, freeGpuMemory, reviewARequest]
