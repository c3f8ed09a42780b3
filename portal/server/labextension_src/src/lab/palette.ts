/** The section of the command palette that has the portal's commands. */
export const PALETTE_CATEGORY = 'Portal';
/** What the portal adds to the launcher stands before its templates. */
export const TOOLS = { category: 'Tools', categoryRank: 5 };
