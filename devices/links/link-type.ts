import type * as z from 'zod'
import type { LinkKind } from '../../shared/wire/device.ts'
import type { DeviceLink, LinkContext } from '../device-link.ts'

/** Strict schema of one link's configuration; `kind` chooses it. */
type LinkSchema = z.ZodObject<{ kind: z.ZodLiteral<LinkKind> } & z.core.$ZodLooseShape>

/** A kind of link: its configuration, and its code, which is loaded only where it is configured. */
export interface LinkType {
  config: LinkSchema
  open(config: unknown, context: LinkContext): Promise<DeviceLink>
}

export const createLinkType = <C extends LinkSchema>(
  config: C,
  load: () => Promise<(config: z.output<C>, context: LinkContext) => DeviceLink>,
): LinkType => ({
  config,
  open: async (given, context) => (await load())(given as z.output<C>, context),
})
