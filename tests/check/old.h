// The macro of 2008: a declaration without a site record.
#define OLD_STRING_(text) #text
#define OLD_STRING(text) OLD_STRING_(text)
#define old_mark(name, format, args)                                                                                  \
    __asm__ volatile(".pushsection __simple_marker.1,\"\"," OLD_PROGBITS "\n\t.asciz \"" #name "\"\n\t.asciz \"" __FILE__ \
                     "\"\n\t.asciz \"" OLD_STRING(__LINE__) "\"\n\t.asciz \"" format "\"\n\t.asciz \"" args          \
                     "\"\n\t.popsection")
#if defined __arm__
#define OLD_PROGBITS "%progbits"
#else
#define OLD_PROGBITS "@progbits"
#endif
