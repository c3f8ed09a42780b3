/** The section of the command palette that has the portal's commands. */
export const PALETTE_CATEGORY = 'Portal';
