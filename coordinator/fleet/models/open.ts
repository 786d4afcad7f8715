import type { Catalogue } from '../../../shared/catalogue.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Store } from '../../kernel/store/store.ts'
import { Models } from './models.ts'

/** Views of the models that clients may name. */
export interface ModelViews {
  /** Every model: those of the configuration, and those that operators added. */
  catalogue: Catalogue
  models: Pick<Models, 'aliasesOf' | 'change' | 'find' | 'isConfigured' | 'list' | 'look'>
}

interface ModelParts extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'> {
  config: { catalogue: Catalogue }
  store: Pick<Store, 'ledger' | 'revisions'>
}

/** The catalogue of the configuration, extended by what operators add while coordinators run. */
export const openModels = async ({
  config,
  store,
  stack,
  logger,
  now,
  runtime,
}: ModelParts): Promise<{ models: Models; catalogue: Catalogue; views: ModelViews }> => {
  const configured = config.catalogue
  const { models, close } = await Models.open({ store, configured, logger, now, runtime })
  stack.defer(close)
  const { catalogue } = models
  return { models, catalogue, views: { catalogue, models } }
}
