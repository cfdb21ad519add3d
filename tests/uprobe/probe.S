// One function for each instruction: sets every register, runs the instruction at a known address, stores what it left behind.
// `probe.c` calls them; the table of them is the section `tests`: function, address of the instruction, its text.

	.bss
	.balign 64
	.globl left
left:	.zero 512
stack:	.zero 8
	.data
	.balign 64
	.globl memory
memory:	.zero 512
near:	.quad 0x1122334455667788, 0x99aabbccddeeff00
vectors: .quad 0x0102030405060708, 0x1112131415161718, 0x8182838485868788, 0x0, 0x7fffffffffffffff, 0x3, 0xff00ff00ff00ff00, 0x9
	.quad 0x0102030405060700, 0x1100131415161718, 0x8182838485868700, 0x1, 0x7fffffffffffffff, 0x4, 0xff00ff00ff00ff01, 0x9
	.text

	.macro BEGIN
7:	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	push $3
	push $2
	push $1
	mov %rsp, stack(%rip)
	vmovdqu vectors(%rip), %ymm0
	vmovdqu vectors+32(%rip), %ymm1
	vmovdqu vectors+64(%rip), %ymm2
	vmovdqu vectors+96(%rip), %ymm3
	lea memory+64(%rip), %rdi
	lea memory+192(%rip), %rsi
	mov $0x1234, %rbx
	mov $7, %rcx
	mov $0, %rdx
	mov $0x55, %r8
	mov $-3, %r9
	mov $0x7777777777, %r10
	mov $11, %r11
	mov $12, %r12
	mov $13, %r13
	mov $14, %r14
	mov $15, %r15
	mov $0xdddd, %rbp
	mov $77, %rax
	cmp $76, %rax
	stc
	.endm

	.macro END text:vararg
	mov %rax, left(%rip)
	mov %rsp, %rax
	mov %rax, left+8(%rip)
	mov stack(%rip), %rax
	mov %rax, left+16(%rip)
	mov (%rsp), %rax
	mov %rax, left+24(%rip)
	mov stack(%rip), %rsp
	pushf
	pop left+32(%rip)
	mov %rbx, left+40(%rip)
	mov %rcx, left+48(%rip)
	mov %rdx, left+56(%rip)
	mov %rsi, left+64(%rip)
	mov %rdi, left+72(%rip)
	mov %r8, left+80(%rip)
	mov %r9, left+88(%rip)
	mov %r10, left+96(%rip)
	mov %r11, left+104(%rip)
	mov %r12, left+112(%rip)
	mov %r13, left+120(%rip)
	mov %rbp, left+128(%rip)
	vmovdqu %ymm0, left+160(%rip)
	vmovdqu %ymm1, left+192(%rip)
	vmovdqu %ymm2, left+224(%rip)
	add $24, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.pushsection .rodata
6:	.asciz "\text"
	.popsection
	.pushsection tests, "a", @progbits
	.quad 7b, 8b, 6b
	.popsection
	.endm

	.macro T text:vararg
	.balign 64
	BEGIN
8:	\text
	END \text
	.endm

	.macro B text:vararg
	.balign 64
	BEGIN
8:	.byte \text
	END .byte \text
	.endm

// A branch over `skip` bytes that must not run where it is taken.
	.macro J skip, text:vararg
	.balign 64
	BEGIN
8:	\text 1f
	.rept \skip
	nop
	.endr
1:	END \text
	.endm

// Nothing
	B 0x90
	B 0x66, 0x90
	B 0x0f, 0x1f, 0x00
	B 0x0f, 0x1f, 0x40, 0x00
	B 0x0f, 0x1f, 0x44, 0x00, 0x00
	B 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00
	B 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00
	B 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	B 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	B 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	B 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	B 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
	B 0x66, 0x66, 0x90
	B 0x48, 0x90
	B 0x0f, 0x1f, 0x45, 0x00
	B 0x48, 0x0f, 0x1f, 0x00
	B 0x0f, 0x1f, 0xc0
	B 0x66, 0x0f, 0x1f, 0x00
	B 0x3e, 0x0f, 0x1f, 0x44, 0x00, 0x00
	B 0x0f, 0x1f, 0x44, 0x00, 0x08
	B 0x0f, 0x19, 0xc0
	B 0x66, 0x66, 0x66, 0x66, 0x90
	B 0x66, 0x66, 0x66, 0x90
	B 0x0f, 0x0d, 0x0f
	T pause
	T endbr64
	T rep nop
	T lea 0(%rsi), %rsi
	T mov %rsi, %rsi
	T xchg %ax, %ax
// Flow
	J 2, jmp
	J 200, jmp
	J 2, ja
	J 2, jb
	J 0, je
	J 200, jne
	J 2, bnd jmp
	B 0x2e, 0x77, 0x02, 0x0f, 0x0b
	B 0x3e, 0x77, 0x02, 0x0f, 0x0b
	B 0x66, 0x77, 0x02, 0x0f, 0x0b
	J 0, jrcxz
	J 2, loop
	J 2, call
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
8:	jmp *%rax
	ud2
1:	END jmp *%rax
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
8:	call *%rax
	ud2
1:	END call *%rax
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
8:	notrack jmp *%rax
	ud2
1:	END notrack jmp *%rax
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
	mov %rax, (%rdi)
8:	call *(%rdi)
	ud2
1:	END call *(%rdi)
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
	mov %rax, target(%rip)
8:	jmp *target(%rip)
	ud2
1:	END jmp *target(%rip)
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
	mov %rax, target(%rip)
8:	call *target(%rip)
	ud2
1:	END call *target(%rip)
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
	push %rax
8:	ret
	ud2
1:	END ret
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
	push %rax
8:	rep ret
	ud2
1:	END rep ret
	.balign 64
	BEGIN
	lea 1f(%rip), %rax
	push %rax
8:	ret $8
	ud2
1:	END ret $8
	.balign 64
	BEGIN
	push %rbp
	mov %rsp, %rbp
8:	leave
	END leave
	.balign 64
	BEGIN
	mov $39, %rax
8:	syscall
	xor %eax, %eax
	xor %ecx, %ecx
	xor %r11, %r11
	END syscall
	.balign 64
	BEGIN
8:	rdtsc
	xor %eax, %eax
	xor %edx, %edx
	END rdtsc
	.balign 64
	BEGIN
8:	rdtscp
	xor %eax, %eax
	xor %edx, %edx
	xor %ecx, %ecx
	END rdtscp
	.balign 64
	BEGIN
8:	cpuid
	xor %eax, %eax
	xor %ebx, %ebx
	xor %ecx, %ecx
	xor %edx, %edx
	END cpuid
	.balign 64
	BEGIN
	xor %ecx, %ecx
8:	xgetbv
	END xgetbv
	.balign 64
	BEGIN
8:	rdrand %rax
	xor %eax, %eax
	END rdrand %rax
	.balign 64
	BEGIN
8:	mov %fs:0, %rax
	xor %eax, %eax
	END mov %fs:0, %rax
	.balign 64
	BEGIN
	mov $5, %ecx
	mov $1, %al
8:	rep stosb
	END rep stosb
	.balign 64
	BEGIN
	mov $5, %ecx
8:	rep movsq
	END rep movsq
	.balign 64
	BEGIN
	mov $0, %ecx
8:	rep movsb
	END rep movsb (0)
	.balign 64
	BEGIN
	mov $5, %ecx
8:	repe cmpsb
	END repe cmpsb
// The stack
	T push %rax
	T push %rsp
	T push %r12
	T push %rbp
	T push $5
	T push $0x12345
	T push (%rdi)
	B 0xff, 0xf0
	B 0x40, 0x50
	T pop %rax
	T pop %r12
	T pushf
	.balign 64
	BEGIN
	pushf
8:	popf
	END popf
	T enter $8, $0
// Moves
	T mov %rax, %rbx
	T mov $5, %eax
	T movabs $0x1122334455667788, %rax
	T mov (%rsi), %rax
	T mov %rax, 8(%rdi)
	T movb $1, (%rdi)
	T movl $1, 4(%rdi)
	T mov near(%rip), %rax
	T mov %rax, near(%rip)
	T movq $7, near(%rip)
	T cmpl $7, near(%rip)
	T lea near(%rip), %rax
	T lea 8(%rax,%rbx,4), %rcx
	T movzbl (%rsi), %eax
	T movsbq %cl, %rax
	T movslq %ecx, %rax
	T cmove %rbx, %rax
	T cmova %rbx, %rax
	T sete %al
	T bswap %rax
	T cqto
	T cltq
	T xchg %rax, %rbx
	T xchg %rax, %r8
	T xchg %rax, %r9
	T xchg %eax, %r8d
	T xchg %rax, (%rdi)
	T movbe (%rsi), %rax
	T mov %ds, %eax
	T lahf
	T sahf
	T cld
	T clc
	T cmc
	T stosb
	T movsb
	T lodsb
	T scasb
	T cmpsb
	.balign 64
	BEGIN
	mov %rdi, %rbx
8:	xlat
	END xlat
	T mov %fs, %eax
	T prefetcht0 (%rsi)
	T clflush (%rsi)
	T mfence
	T lfence
	T sfence
	T stmxcsr (%rdi)
	T fxsave (%rdi)
	T movnti %rax, (%rdi)
	T mov %cs:(%rsi), %rax
	T mov %ds:(%rsi), %rax
	T mov %ss:(%rsi), %rax
	T mov %es:(%rsi), %rax
	B 0x67, 0x8b, 0x06
// Arithmetic
	T add %rax, %rbx
	T add $5, %rax
	T addq $1, (%rdi)
	T sub %rax, %rbx
	T adc %rax, %rbx
	T sbb %rax, %rbx
	T and $3, %rax
	T or %rax, %rbx
	T xor %eax, %eax
	T cmp %rax, %rbx
	T test %al, %al
	T testb $1, (%rsi)
	T not %rax
	T neg %rax
	T inc %rax
	T decl (%rdi)
	T imul %rbx, %rax
	T imul $3, %rbx, %rax
	T mul %rbx
	T div %rbx
	T idiv %ecx
	T shl $3, %rax
	T shr %cl, %rax
	T sar %rax
	T rol $3, %rax
	T shld $3, %rax, %rbx
	T bt $3, %rax
	T bsf %rbx, %rax
	T popcnt %rbx, %rax
	T tzcnt %rbx, %rax
	T lzcnt %rbx, %rax
	T crc32q %rbx, %rax
	T adcx %rbx, %rax
	T cmpxchg %rbx, (%rdi)
	T xadd %rax, (%rdi)
	T lock addl $1, (%rdi)
	T lock cmpxchg %rbx, (%rdi)
	T lock xadd %rax, (%rdi)
	T lock orq $0, (%rsp)
	T cmpxchg16b (%rdi)
	T lock cmpxchg16b (%rdi)
// x87, MMX, SSE
	T fld1
	T fldl (%rsi)
	T emms
	T movq %mm0, %rax
	T pxor %mm0, %mm0
	T movaps %xmm1, %xmm0
	T movups (%rsi), %xmm0
	T movups %xmm0, (%rdi)
	T movdqa %xmm1, %xmm0
	T movdqu %xmm0, (%rdi)
	T movq %rax, %xmm0
	T movd %xmm0, %eax
	T movss (%rsi), %xmm0
	T movsd near(%rip), %xmm0
	T addps %xmm1, %xmm0
	T addsd %xmm1, %xmm0
	T mulsd %xmm1, %xmm0
	T divss %xmm1, %xmm0
	T sqrtsd %xmm1, %xmm0
	T cvtsi2sd %rax, %xmm0
	T cvttsd2si %xmm0, %rax
	T ucomisd %xmm1, %xmm0
	T pxor %xmm0, %xmm0
	T por %xmm1, %xmm0
	T pand %xmm1, %xmm0
	T pcmpeqb %xmm1, %xmm0
	T pmovmskb %xmm0, %eax
	T pshufd $1, %xmm1, %xmm0
	T pshufb %xmm1, %xmm0
	T palignr $3, %xmm1, %xmm0
	T pcmpistri $0, %xmm1, %xmm0
	T psrldq $3, %xmm0
	T psubsb %xmm1, %xmm0
	T cmpps $0, %xmm1, %xmm0
	T shufps $1, %xmm1, %xmm0
	T aesenc %xmm1, %xmm0
	T xorps %xmm0, %xmm0
	T lddqu (%rsi), %xmm0
// AVX: the kernel looks the last byte of the opcode up in its table of one-byte opcodes
	T vaddps %ymm1, %ymm2, %ymm0
	T vpxor %ymm1, %ymm2, %ymm0
	T vpor %ymm1, %ymm2, %ymm0
	T vpand %ymm1, %ymm2, %ymm0
	T vxorps %ymm0, %ymm0, %ymm0
	T vpcmpeqb %ymm1, %ymm2, %ymm0
	T vpcmpeqw %ymm1, %ymm2, %ymm0
	T vpcmpeqd %ymm1, %ymm2, %ymm0
	T vpmovmskb %ymm1, %eax
	T vmovmskps %ymm1, %eax
	T vpcmpgtb %ymm1, %ymm2, %ymm0
	T vmovlps %xmm0, (%rdi)
	T vmovsd %xmm0, (%rdi)
	T vmovss (%rsi), %xmm0
	T vmovaps %ymm1, (%rdi)
	T vmovntdq %ymm1, (%rdi)
	T vmovntps %ymm1, (%rdi)
	T vpackuswb %ymm1, %ymm2, %ymm0
	T vpblendw $1, %ymm1, %ymm2, %ymm0
	T vpblendd $1, %ymm1, %ymm2, %ymm0
	T vroundsd $1, %xmm1, %xmm2, %xmm0
	T vpinsrd $1, %eax, %xmm1, %xmm0
	T vpextrq $1, %xmm1, %rax
	T vcvttsd2si %xmm1, %rax
	T vpmulld %ymm1, %ymm2, %ymm0
	T vpermq $1, %ymm1, %ymm0
	T vpsllq $1, %ymm1, %ymm0
	T vpaddb %ymm1, %ymm2, %ymm0
	T vpavgb %ymm1, %ymm2, %ymm0
	T vmovddup %xmm1, %xmm0
	T vmovdqu (%rsi), %ymm0
	T vmovdqu %ymm1, (%rdi)
	T vmovdqa %ymm1, %ymm0
	T vmovups (%rsi), %ymm0
	T vmovups %ymm1, (%rdi)
	T vmovups vectors(%rip), %ymm0
	T vmovdqu vectors(%rip), %ymm0
	T vmovd %xmm1, %eax
	T vmovq %rax, %xmm0
	T vmovq %xmm1, %rax
	T vpshufd $1, %ymm1, %ymm0
	T vpshufb %ymm1, %ymm2, %ymm0
	T vpsrldq $3, %ymm1, %ymm0
	T vpslld $3, %ymm1, %ymm0
	T vpsubsb %ymm1, %ymm2, %ymm0
	T vpsubsw %ymm1, %ymm2, %ymm0
	T vpsubb %ymm1, %ymm2, %ymm0
	T vpaddd %ymm1, %ymm2, %ymm0
	T vpminub %ymm1, %ymm2, %ymm0
	T vpminsw %ymm1, %ymm2, %ymm0
	T vpmaxsw %ymm1, %ymm2, %ymm0
	T vcmpps $0, %ymm1, %ymm2, %ymm0
	T vcmpsd $0, %xmm1, %xmm2, %xmm0
	T vshufps $1, %ymm1, %ymm2, %ymm0
	T vpextrw $1, %xmm1, %eax
	T vpinsrw $1, %eax, %xmm1, %xmm0
	T vzeroupper
	T vzeroall
	T vextracti128 $1, %ymm1, %xmm0
	T vperm2i128 $1, %ymm1, %ymm2, %ymm0
	T vpbroadcastb %xmm1, %ymm0
	T vinserti128 $1, %xmm1, %ymm2, %ymm0
	T vptest %ymm1, %ymm2
	T vfmadd213sd %xmm1, %xmm2, %xmm0
	T vfmadd231ps %ymm1, %ymm2, %ymm0
	T vfmsub132ps %ymm1, %ymm2, %ymm0
	T vfnmadd132sd %xmm1, %xmm2, %xmm0
	T vfnmsub132sd %xmm1, %xmm2, %xmm0
	T vucomisd %xmm1, %xmm2
	T vcvtsi2sd %rax, %xmm1, %xmm0
	T vmulsd near(%rip), %xmm1, %xmm0
	T vhaddps %ymm1, %ymm2, %ymm0
	T vpunpcklbw %ymm1, %ymm2, %ymm0
	T vpmuludq %ymm1, %ymm2, %ymm0
	T vpsadbw %ymm1, %ymm2, %ymm0
	T vandps %ymm1, %ymm2, %ymm0
	T vsqrtsd %xmm1, %xmm2, %xmm0
	T vblendvps %ymm0, %ymm1, %ymm2, %ymm0
	T andn %rbx, %r8, %rax
	T bextr %rbx, %r8, %rax
	T blsr %rbx, %rax
	T bzhi %rbx, %r8, %rax
	T mulx %rbx, %r8, %rax
	T pdep %rbx, %r8, %rax
	T sarx %rcx, %rbx, %rax
	T shlx %rcx, %rbx, %rax
	T rorx $3, %rbx, %rax
// AVX-512
	T vpaddd %zmm1, %zmm2, %zmm0
	T vpxord %zmm1, %zmm2, %zmm0
	T vpternlogd $0xff, %zmm0, %zmm0, %zmm0
	.balign 64
	BEGIN
8:	vpcmpeqb %ymm1, %ymm2, %k1
	kmovd %k1, %eax
	END vpcmpeqb %ymm1, %ymm2, %k1
	.balign 64
	BEGIN
	vpcmpeqd %ymm3, %ymm3, %ymm3
	vpxor %ymm2, %ymm2, %ymm2
8:	vpgatherdd %ymm3, (%rdi,%ymm2,1), %ymm0
	END vpgatherdd %ymm3, (%rdi,%ymm2,1), %ymm0
	T vpcmpb $0, %ymm1, %ymm2, %k1
	T vmovdqu64 (%rsi), %zmm0
	T vmovdqu64 %zmm1, (%rdi)
	T vmovdqu8 %ymm1, %ymm0{%k1}
	T kmovd %eax, %k1
	T kmovd %k1, %eax
	T kortestd %k1, %k1
	T vporq %ymm1, %ymm2, %ymm0{%k1}
	T vpord %zmm1, %zmm2, %zmm0
	T vaddps vectors(%rip), %zmm1, %zmm0
	T vpbroadcastb %eax, %ymm0
// Traps and odd ones
	T int $0x80
	J 0, xbegin
	T xtest
	T rdfsbase %rax
	T serialize
	T cldemote (%rsi)
	T sldt %eax
	T smsw %eax
	T sgdt (%rdi)
	T str %eax
	T sidt (%rdi)
	T movq %xmm1, (%rdi)
	T maskmovdqu %xmm1, %xmm0
	T pushq near(%rip)
	T popq near(%rip)
	T verr %ax
	T lar %ax, %eax
	T xsave (%rdi)
	T ldmxcsr one(%rip)
	T movdiri %rax, (%rdi)
	T mov %eax, %ss:8(%rdi)
	T fwait
	T fnstcw (%rdi)
	.balign 64
	BEGIN
8:	std
	cld
	END std
	.data
one:	.long 0x1f80
target:	.quad 0
	.section .note.GNU-stack, "", @progbits
