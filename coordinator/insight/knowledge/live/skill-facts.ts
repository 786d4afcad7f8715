import type { DiscoveryModule } from '../../../../discovery/module.ts'
import { createLayer, type GraphFacts, nodeId } from '../graph-model.ts'

/** What the graph says of an operation. */
export interface CallableFacts {
  id: string
  group?: string
  description: string
  access: string
  effect: string
  /** False for an operation that is not offered to language models. */
  tool?: false
  /** Display name, of a skill. */
  name?: string
  tags?: readonly string[]
}

/** Skills and the other tools, with their families, tags and toolsets. */
export const skillFacts = (
  callable: readonly CallableFacts[],
  modules: readonly Pick<DiscoveryModule, 'id'>[],
): GraphFacts => {
  const layer = createLayer('skills')
  const moduleIds = new Set(modules.map(({ id }) => id))
  const groups = new Set<string>()
  const tags = new Set<string>()
  for (const { id, group = 'other', description, access, effect, ...each } of callable) {
    if (each.tool === false) continue
    const isSkill = each.tags !== undefined
    const kind = isSkill ? 'skill' : 'tool'
    const attributes = { access, effect }
    const node = layer.addNode({
      kind,
      key: id,
      name: each.name ?? id,
      text: `${id} ${description}`,
      attributes,
    })
    groups.add(group)
    layer.addEdge(node, isSkill ? 'in_family' : 'in_toolset', nodeId('toolset', group))
    for (const tag of each.tags ?? []) {
      tags.add(tag)
      layer.addEdge(node, 'tagged', nodeId('tag', tag))
    }
    if (isSkill && moduleIds.has(id)) layer.addEdge(node, 'implemented_by', nodeId('module', id))
  }
  for (const group of groups) layer.addNode({ kind: 'toolset', key: group })
  for (const tag of tags) layer.addNode({ kind: 'tag', key: tag })
  return layer
}

/** Discovery modules with their domains. */
export const moduleFacts = (modules: readonly DiscoveryModule[]): GraphFacts => {
  const layer = createLayer('modules')
  for (const domain of new Set(modules.map(module => module.domain)))
    layer.addNode({ kind: 'domain', key: domain })
  for (const { id, name, description, domain, reach } of modules) {
    const node = layer.addNode({
      kind: 'module',
      key: id,
      name,
      text: `${id} ${description}`,
      attributes: { reach },
    })
    layer.addEdge(node, 'in_domain', nodeId('domain', domain))
  }
  return layer
}
