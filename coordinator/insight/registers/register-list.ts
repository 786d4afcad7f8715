import { backups } from './definitions/backups.ts'
import { candidates } from './definitions/candidates.ts'
import { chatServers } from './definitions/chat-servers.ts'
import { costs } from './definitions/costs.ts'
import { flows } from './definitions/flows.ts'
import { people } from './definitions/people.ts'
import { projectTasks } from './definitions/project-tasks.ts'
import { projects } from './definitions/projects.ts'
import { releaseBlocks } from './definitions/release-blocks.ts'
import { services } from './definitions/services.ts'
import { subscriptions } from './definitions/subscriptions.ts'
import { synergies } from './definitions/synergies.ts'
import { trainings } from './definitions/trainings.ts'
import { useCases } from './definitions/use-cases.ts'
import type { Register } from './register.ts'

/** Every register, sorted by its id. A new one is a file and a line here. */
export const REGISTERS: readonly Register[] = [
  backups,
  candidates,
  chatServers,
  costs,
  flows,
  people,
  projectTasks,
  projects,
  releaseBlocks,
  services,
  subscriptions,
  synergies,
  trainings,
  useCases,
]

const byId = new Map(REGISTERS.map(register => [register.id, register]))

export const findRegister = (id: string): Register | undefined => byId.get(id)
