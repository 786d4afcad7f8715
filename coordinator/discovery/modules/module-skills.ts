import type { DiscoveryModule } from '../../../discovery/module.ts'
import { isScan } from '../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { defineSkill, type Skill } from '../../kernel/declaration/skill.ts'
import type { DiscoveryViews } from '../entities/open.ts'
import { describeModule, EXTRA_SECONDS } from './operations/module.ts'
import { runModule } from './operations/module-answer.ts'

/** The skill that a module is: its declaration, with the cell beside the input. */
export const createModuleSkill = (module: DiscoveryModule): Skill<Context & DiscoveryViews> => {
  const { id, name, description, tags, input, examples, reach, deadlineSeconds } = module
  const { constantBecause } = module
  return defineSkill({
    ...describeModule(module),
    id,
    group: 'discovery',
    name,
    description,
    tags,
    ...(constantBecause !== undefined && { constantBecause }),
    openWorld: reach !== 'host',
    onCell: isScan(module),
    mode: 'stream',
    timeoutSeconds: deadlineSeconds + EXTRA_SECONDS,
    input,
    examples: examples as never,
    run: (given, context: Context & DiscoveryViews) => runModule(module, given, context) as never,
  })
}

/** The skill of every module. */
export const MODULE_SKILLS: readonly Skill<Context & DiscoveryViews>[] =
  DISCOVERY_MODULES.map(createModuleSkill)
