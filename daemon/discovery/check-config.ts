import { ShoalError } from '../../shared/errors.ts'
import type { Helper } from '../helper/helper.ts'
import type { DiscoveryConfig } from './config.ts'

const CHECK_SECONDS = 20

/**
 * Checks the settings of modules in a helper process, because their schemas stand beside programs
 * that load foreign libraries.
 * @throws ShoalError config_invalid, which names the module and the field
 */
export const checkModuleConfig = async (
  { modules }: Pick<DiscoveryConfig, 'modules'>,
  helper: Pick<Helper, 'call'>,
): Promise<void> => {
  for (const [id, input] of Object.entries(modules)) {
    const fault = await helper.call({
      module: 'module-config',
      function: id,
      input,
      deadlineSeconds: CHECK_SECONDS,
    })
    if (fault !== null)
      throw new ShoalError('config_invalid', `discovery.modules.${id}: ${String(fault)}`)
  }
}
